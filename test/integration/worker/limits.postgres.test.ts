import { limitsSuite } from './limits-suite.js';

limitsSuite('postgres');

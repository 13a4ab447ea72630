import { limitsSuite } from './limits-suite.js';

limitsSuite('memory');

import { runsSuite } from './runs-suite.js';

runsSuite('postgres');

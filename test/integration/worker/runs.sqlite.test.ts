import { runsSuite } from './runs-suite.js';

runsSuite('sqlite');

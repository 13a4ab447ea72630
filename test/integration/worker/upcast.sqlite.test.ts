import { upcastSuite } from './upcast-suite.js';

upcastSuite('sqlite');

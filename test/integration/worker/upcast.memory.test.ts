import { upcastSuite } from './upcast-suite.js';

upcastSuite('memory');

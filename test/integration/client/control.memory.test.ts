import { controlSuite } from './control-suite.js';

controlSuite('memory');

import { controlSuite } from './control-suite.js';

controlSuite('sqlite');

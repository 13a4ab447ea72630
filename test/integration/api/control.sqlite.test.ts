import { apiControlSuite } from './control-suite.js';

apiControlSuite('sqlite');

import { anyRequestSuite } from './any-request-suite.js';

anyRequestSuite('mysql');

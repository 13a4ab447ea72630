import { anyRequestSuite } from './any-request-suite.js';

anyRequestSuite('memory');

import { whySuite } from './why-suite.js';

whySuite('memory');

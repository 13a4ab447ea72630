import { queuesSuite } from './queues-suite.js';

queuesSuite('postgres');

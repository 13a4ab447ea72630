import { eventsSuite, streamSuite } from './events-suite.js';

eventsSuite('memory');
streamSuite('memory');

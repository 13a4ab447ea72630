import { lanesSuite } from './lanes-suite.js';

lanesSuite('postgres');

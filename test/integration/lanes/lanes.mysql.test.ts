import { lanesSuite } from './lanes-suite.js';

lanesSuite('mysql');

import { lanesChaosSuite } from './lanes-suite.js';

lanesChaosSuite('mysql');

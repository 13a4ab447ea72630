import { lanesChaosSuite } from './lanes-suite.js';

lanesChaosSuite('sqlite');

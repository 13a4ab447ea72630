import { modelSuite } from './model-suite.js';
import { stormSuite } from './storm-suite.js';

modelSuite({ engine: 'mysql', sequences: 200 });
stormSuite('mysql');

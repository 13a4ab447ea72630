import { modelSuite } from './model-suite.js';
import { stormSuite } from './storm-suite.js';

modelSuite({ engine: 'postgres', sequences: 200 });
stormSuite('postgres');

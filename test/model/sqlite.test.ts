import { modelSuite } from './model-suite.js';
import { stormSuite } from './storm-suite.js';

modelSuite({ engine: 'sqlite', sequences: 1_000 });
stormSuite('sqlite');

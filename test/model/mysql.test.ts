import { modelSuite } from './model-suite.js';

modelSuite({ engine: 'mysql', sequences: 200 });

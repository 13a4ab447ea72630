import { modelSuite } from './model-suite.js';

modelSuite({ engine: 'postgres', sequences: 200 });

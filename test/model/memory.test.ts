import { modelSuite } from './model-suite.js';

modelSuite({ engine: 'memory', sequences: 200 });

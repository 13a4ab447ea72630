import { modelSuite } from './model-suite.js';

modelSuite({ engine: 'sqlite', sequences: 1_000 });

import { jobsSuite } from './jobs-suite.js';

jobsSuite('sqlite');

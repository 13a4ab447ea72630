import { jobsSuite } from './jobs-suite.js';

jobsSuite('postgres');

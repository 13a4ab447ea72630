import { chaosSuite } from './chaos-suite.js';

chaosSuite('postgres');

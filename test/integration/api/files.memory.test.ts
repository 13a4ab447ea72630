import { filesSuite } from './files-suite.js';

filesSuite('memory');

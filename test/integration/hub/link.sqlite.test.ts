import { linkSuite } from './link-suite.js';

linkSuite('sqlite');

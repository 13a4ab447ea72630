import { operatorsSuite } from './operators-suite.js';

operatorsSuite('memory');

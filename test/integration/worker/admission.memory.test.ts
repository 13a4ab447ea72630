import { admissionSuite } from './admission-suite.js';

admissionSuite('memory');

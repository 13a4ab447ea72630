import { admissionSuite } from './admission-suite.js';

admissionSuite('mysql');

import { identitySuite } from './identity-suite.js';

identitySuite('postgres');

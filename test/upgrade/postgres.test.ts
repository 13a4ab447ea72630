import { upgradeSuite } from './upgrade-suite.js';

upgradeSuite('postgres');

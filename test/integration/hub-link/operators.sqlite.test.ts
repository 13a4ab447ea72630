import { emptyHubDatabase } from '../../support/hub-engines.js';
import { operatorsSuite } from '../worker/operators-suite.js';

operatorsSuite('sqlite', emptyHubDatabase);

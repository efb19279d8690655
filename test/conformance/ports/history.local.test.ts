import { onTestFinished } from 'vitest';
import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import { open, tempFolder } from '../../unit/state/support.ts';
import { historyConformance } from './history.ts';

historyConformance(() => {
  const store = open(tempFolder());
  onTestFinished(() => store.close());
  return openDecisionLog(store);
});

import { describe, expect, test } from 'vitest';
import { isPartial, notePartial } from '../../../src/web/dashboard/partial.ts';

const PARTIAL = new Headers({ 'X-SVC-Partial': '1' });
const WHOLE = new Headers();
const API = '/dashboard/api/v1';

describe('the mark of partial answers', () => {
  test('The last read of all nodes decides, whatever other reads say', () => {
    for (const path of ['/decisions?limit=5', '/decisions/req_1', '/stats?step=60', '/links?kind=ip', '/top?by=ip']) {
      notePartial(API + path, PARTIAL);
      notePartial(`${API}/webhooks?limit=5`, WHOLE);
      expect([path, isPartial.value]).toEqual([path, true]);
      notePartial(API + path, WHOLE);
      expect([path, isPartial.value]).toEqual([path, false]);
    }
  });
});

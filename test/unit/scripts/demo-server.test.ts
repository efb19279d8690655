import { afterEach, expect, test, vi } from 'vitest';
import { keptSettings } from '../../../scripts/demo/server.ts';

afterEach(() => vi.unstubAllEnvs());

test('A demo that is kept listens where the terminal says, and takes no other setting from it', () => {
  vi.stubEnv('GATEHOUSE_PORT', '9090');
  vi.stubEnv('GATEHOUSE_HOST', '0.0.0.0');
  vi.stubEnv('GATEHOUSE_MASTER_KEY', 'another');
  vi.stubEnv('GATEHOUSE_POLICY', 'policy.json');
  const settings = keptSettings();
  expect(settings).toMatchObject({ GATEHOUSE_PORT: '9090', GATEHOUSE_HOST: '0.0.0.0', GATEHOUSE_SIMULATED_TIME: '1' });
  expect(settings['GATEHOUSE_MASTER_KEY']).not.toBe('another');
  expect(settings).not.toHaveProperty('GATEHOUSE_POLICY');
});

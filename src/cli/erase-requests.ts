import { eraseRequests } from '../history/request-log/read-requests.ts';
import { parseDecideRequest } from '../risk/decide-request.ts';
import { readEmail } from '../risk/signals/email.ts';
import { deriveKey, openMasterKey } from '../state/repair/master-key.ts';
import { failure, failureOf, ok, usage, type CommandOutcome } from './command-outcome.ts';
import { withStore } from './with-store.ts';

export interface EraseWords {
  readonly customer: string;
  /** `name=value`. */
  readonly entity: string;
  readonly dataDir: string;
  readonly masterKey: string | undefined;
}

/** Runs `gatehouse requests erase`. */
export function eraseLoggedRequests({ customer: id, entity, dataDir, masterKey }: EraseWords): Promise<CommandOutcome> {
  const at = entity.indexOf('=');
  if (at < 1) return Promise.resolve(usage('usage', '--entity is name=value, such as email=anna@example.com'));
  const name = entity.slice(0, at);
  const value = sameText(entity.slice(at + 1));
  return withStore(dataDir, async (store) => {
    const customer = store.customers.findById(id);
    if (customer === null) return failure('not_found', `there is no customer ${id}`);
    const master = openMasterKey(dataDir, masterKey);
    if (master.kind === 'fault') return failureOf(master);
    const query = { dataDir, customer: customer.number, keyFor: (purpose: string) => deriveKey(master.key, purpose) };
    const { requests, files } = await eraseRequests(query, (body) => {
      const parsed = parseDecideRequest(body);
      if (parsed.kind === 'fault') return false;
      return parsed.request.entities.some((one) => one.name === name && sameText(one.value) === value);
    });
    return ok({ requests, files }, `${requests} logged requests about ${entity} were erased, in ${files} files`);
  });
}

/** Spellings of one mailbox are the same text, as in the history. */
function sameText(value: string): string {
  return readEmail(value)?.canonical ?? value;
}

import type { PolicyFile } from '../assets/policy-file.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Log } from '../observe/log.ts';
import type { RulesByCustomer } from '../risk/policy/policy-set.ts';
import type { OwnRule } from '../risk/policy/own-rule.ts';
import type { Store } from '../state/feed/open-store.ts';

/** Returns the rules that customers wrote over the API before this start. */
export function readStoredRules({ rules }: Pick<Store, 'rules'>, log: Log): RulesByCustomer {
  return new Map(rules.customers().map((customer) => [customer, readRules({ rules }, customer, log)]));
}

/** Passes each change of a rule on to the score workers, before its call is answered; also one that another node made. */
export function followRules(
  store: Pick<Store, 'rules' | 'changes' | 'resetRead'>,
  policyFile: Pick<PolicyFile, 'setRules'>,
  log: Log,
): void {
  store.changes.onCommitted(({ change }) => {
    if (change.kind !== 'rule.put' && change.kind !== 'rule.removed') return;
    store.resetRead();
    policyFile.setRules(change.customer, readRules(store, change.customer, log));
  });
}

function readRules({ rules }: Pick<Store, 'rules'>, customer: CustomerNumber, log: Log): readonly OwnRule[] {
  const found = rules.of(customer);
  if (found.unreadable > 0)
    log.warn({ customer, rules: found.unreadable }, 'stored rules cannot be read and do not run');
  return found.rules;
}

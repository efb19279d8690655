import type { PolicyArchive } from '../assets/policy-archive.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { PolicyDocument, PolicyScope } from '../risk/policy/policy-document.ts';

/**
 * Returns what the present policy says for a customer: `read` gets the parts of the file that apply, the least specific first. Two look-ups
 * while the policy stays.
 */
export function policyByCustomer<Value>(
  archive: Pick<PolicyArchive, 'at'>,
  idOf: (customer: CustomerNumber) => string,
  read: (parts: readonly PolicyScope[]) => Value,
): (customer: CustomerNumber) => Value {
  let known: PolicyDocument | null = null;
  const values = new Map<CustomerNumber, Value>();
  return (customer) => {
    const document = archive.at(Infinity);
    if (document !== known) {
      known = document;
      values.clear();
    }
    let own = values.get(customer);
    if (own === undefined) {
      const scope = document?.customers.get(idOf(customer));
      own = read(document === null ? [] : scope === undefined ? [document] : [document, scope]);
      values.set(customer, own);
    }
    return own;
  };
}

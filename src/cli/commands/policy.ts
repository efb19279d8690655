import type { PolicyDocument, PolicyNote } from '../../core/policy-document.ts';
import type { Cli } from '../context.ts';
import { failure, ok, type Outcome } from '../outcome.ts';
import { withStore } from '../with-store.ts';

export function addPolicy(cli: Cli): void {
  cli.program
    .command('policy')
    .description('the file that changes how decisions are made')
    .command('check <file>')
    .description('say whether a server would take a policy file, and what it changes')
    .action((file: string) => cli.run(() => check(file, cli.globals().dataDir)));
}

async function check(file: string, dataDir: string): Promise<Outcome> {
  // The schema and all rules are loaded for this command alone.
  const { noteText, readPolicyFile } = await import('../../pools/policy-read.ts');
  const { policyReport } = await import('../policy-report.ts');
  const read = await readPolicyFile(file);
  if (read.kind === 'unreadable') return failure('unreadable_file', `${file} cannot be used: ${read.detail}`);
  if (read.kind === 'faults') {
    const json = { valid: false, version: null, errors: read.faults, warnings: [] };
    const lines = read.faults.map((fault) => `  ${noteText(fault)}`);
    return ok(json, [`${file} is not valid:`, ...lines].join('\n'), true);
  }
  const { document } = read;
  const warnings = [...read.warnings, ...(await unknownCustomers(document, dataDir))];
  const lines = warnings.map((warning) => `warning: ${noteText(warning)}`);
  const text = [`${file} is valid, version ${document.version}`, ...lines, '', policyReport(document)].join('\n');
  return ok({ valid: true, version: document.version, errors: [], warnings }, text);
}

/** Customers may be made later than the file, so one that does not exist is no fault. */
async function unknownCustomers(document: PolicyDocument, dataDir: string): Promise<readonly PolicyNote[]> {
  if (document.customers.size === 0) return [];
  const notes: PolicyNote[] = [];
  const outcome = await withStore(dataDir, ({ customers }) => {
    for (const id of document.customers.keys()) {
      if (customers.findById(id) !== null) continue;
      notes.push({ pointer: `/customers/${id}`, message: 'there is no such customer yet' });
    }
    return ok({}, '');
  });
  return outcome.kind === 'ok' ? notes : aboutAll(`they were not looked up: ${outcome.message}`);
}

function aboutAll(message: string): PolicyNote[] {
  return [{ pointer: '/customers', message }];
}

import { parseUrl } from '../../kernel/parse-url.ts';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { createClient } from '../../client/client.ts';
import { checkKeyText } from '../../kernel/key-text.ts';
import type { Cli } from '../context.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import type { Io } from '../io.ts';

interface DecideOptions {
  readonly key: string;
  readonly url: string;
  readonly file?: string;
}

/** Body sent if none is given: enough for an answer with reasons. The address is reserved for documentation. */
const EXAMPLE = {
  event_type: 'login',
  session_token: 'example-session',
  ip: '198.51.100.7',
  user_agent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36',
  entity_keys: { email: 'someone@example.com' },
};

export function addDecide(cli: Cli): void {
  cli.program
    .command('decide')
    .description('sign a decide request, send it, and print the response')
    .requiredOption('--key <key>', 'a secret or a public key')
    .option('--url <url>', 'address of the service', 'http://127.0.0.1:8080')
    .option('--file <path>', 'file with the JSON body, - for standard input (default: an example)')
    .action((options: DecideOptions) => cli.run(async () => decide(options, cli.io)));
}

async function decide(options: DecideOptions, { stdin, write }: Io): Promise<CommandOutcome> {
  if (checkKeyText(options.key) === null) {
    return failure('malformed_key', 'that is not a complete key: its format or its checksum is wrong');
  }
  if (!/^https?:$/.test(parseUrl(options.url)?.protocol ?? '')) {
    return failure('malformed_url', `${options.url} is not an http or https URL`);
  }
  let body: Uint8Array | object = EXAMPLE;
  try {
    if (options.file === '-') body = await buffer(stdin);
    else if (options.file !== undefined) body = await readFile(options.file);
    else write(2, 'Sent: the example. --file - sends standard input.\n');
  } catch (error) {
    return failure(
      'unreadable_file',
      `the body cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  const client = createClient({ url: options.url, key: options.key });
  const answer = await client.decide(body);
  if (answer.kind === 'unreachable') return failure('unreachable', `no answer from ${options.url}: ${answer.detail}`);
  const failed = answer.status < 200 || answer.status > 299;
  if (typeof answer.body !== 'object' || answer.body === null) {
    return failure('unexpected_answer', `the answer has status ${answer.status} and is not a JSON object`);
  }
  return ok(answer.body, JSON.stringify(answer.body, null, 2), failed);
}

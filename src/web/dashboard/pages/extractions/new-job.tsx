import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ConnectorRow, ExtractionCreatedBody, OperationBody, WirePage } from '../../../../contract/wire-types.ts';
import { type ApiFault, send, toFault, v1 } from '../../api.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { Button, Field, Select } from '../../components/fields.tsx';
import { Section } from '../../components/pane.tsx';
import { Fault, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { toast } from '../../components/toast.tsx';
import { isReadOnly } from '../../session.ts';
import { useUrlState } from '../../url-state.ts';
import { useLive } from '../../use-live.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { fieldsOf, SchemaForm, toInput, type Typed, typedOf } from './schema-form.tsx';

const LIMIT_DEFAULT = '100';

/** The catalogue, and a form for the chosen operation. Connector and operation are in the URL. */
export function NewJob({ onStarted }: { readonly onStarted: (id: string) => void }): JSX.Element {
  const url = useUrlState();
  const found = useLive<WirePage<ConnectorRow>>(v1('/connectors', { limit: 100 }));
  return (
    <Section title="New extraction" note="Pulls records from a source, within its terms and robots.txt">
      <StateView of={found} skeleton="rows">
        {() => {
          const connectors = found.data?.data ?? [];
          const connector = connectors.find(({ id }) => id === url.get('c')) ?? connectors[0];
          const operation =
            connector?.operations.find(({ name }) => name === url.get('op')) ?? connector?.operations[0];
          if (connector === undefined || operation === undefined) return null;
          return (
            <div class="stack">
              <div class="columns">
                <Select
                  label="Connector"
                  value={connector.id}
                  onValue={(id) => url.set({ c: id, op: null })}
                  choices={connectors.map(({ id, title }) => ({ value: id, title: cutText(visibleText(title), 60) }))}
                />
                <Select
                  label="Operation"
                  value={operation.name}
                  onValue={(name) => url.set({ c: connector.id, op: name })}
                  choices={connector.operations.map(({ name }) => ({
                    value: name,
                    title: cutText(visibleText(name), 60),
                  }))}
                />
              </div>
              <Terms connector={connector} operation={operation} />
              <OperationForm
                key={`${connector.id} ${operation.name}`}
                connector={connector}
                operation={operation}
                onStarted={onStarted}
              />
            </div>
          );
        }}
      </StateView>
    </Section>
  );
}

function Terms({
  connector,
  operation,
}: {
  readonly connector: ConnectorRow;
  readonly operation: OperationBody;
}): JSX.Element {
  return (
    <div class="stack-small">
      <p>
        <Text value={operation.description} charactersMax={600} />
      </p>
      <p class="muted small">
        <Text value={connector.rate_policy} charactersMax={400} />
        {connector.attribution !== null && (
          <>
            {' '}
            Attribution: <Text value={connector.attribution} charactersMax={300} />
          </>
        )}
        {connector.terms_url !== null && (
          <>
            {' '}
            Terms: <Text value={connector.terms_url} />
          </>
        )}
      </p>
    </div>
  );
}

function OperationForm({
  connector,
  operation,
  onStarted,
}: {
  readonly connector: ConnectorRow;
  readonly operation: OperationBody;
  readonly onStarted: (id: string) => void;
}): JSX.Element {
  const fields = useMemo(() => fieldsOf(operation.input_schema), [operation]);
  const [typed, setTyped] = useState<Typed>({});
  const [limit, setLimit] = useState(LIMIT_DEFAULT);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const input = useMemo(() => toInput(fields, typed), [fields, typed]);
  useEffect(() => setFault(null), [typed, limit]);
  const errors = new Map<string, string>();
  if (input.kind === 'fault') errors.set(input.name, input.message);
  for (const { pointer, message } of fault?.errors ?? []) {
    const name = /^\/input\/([^/]+)/.exec(pointer)?.[1];
    if (name !== undefined) errors.set(name, message);
  }
  const body = {
    connector: connector.id,
    operation: operation.name,
    input: input.kind === 'input' ? input.input : {},
    collect: limit.trim() === '' ? { mode: 'all' } : { mode: 'limit', limit: Number(limit) },
  };
  const run = async (): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      const made = await send<ExtractionCreatedBody>('POST', v1('/extractions'), body, {
        headers: { 'Idempotency-Key': crypto.randomUUID() },
      });
      toast('The extraction is queued');
      onStarted(made.id);
    } catch (error) {
      setFault(toFault(error));
    }
    setBusy(false);
  };
  return (
    <form
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (input.kind === 'input') void run();
      }}
    >
      <div class="columns">
        <SchemaForm fields={fields} typed={typed} errors={errors} onTyped={setTyped} />
        <Field
          label="Records"
          type="number"
          min={1}
          max={100_000}
          value={limit}
          onValue={setLimit}
          hint="At most this many. Empty: all of them."
        />
      </div>
      {fault !== null && <Fault fault={fault} />}
      <div class="row">
        <Button type="submit" kind="primary" disabled={isBusy || input.kind === 'fault' || isReadOnly()}>
          {isBusy ? 'Starting…' : 'Start'}
        </Button>
        <Button onClick={() => setTyped(typedOf(operation.example.input))}>Fill in the example</Button>
        <span class="muted small">
          <Text value={operation.paging} charactersMax={200} />
        </span>
      </div>
      <details>
        <summary>The same as an API call, which can also deliver to a webhook or an upload</summary>
        <CodeBlock text={commandOf(body)} label="Call" wrap />
      </details>
    </form>
  );
}

function commandOf(body: unknown): string {
  const json = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  return `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  ${location.origin}/v1/extractions \\
  -d '${json}'`;
}

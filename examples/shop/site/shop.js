/* The shop's own script: sends the form without leaving the page and shows what the backend learned. */
const form = document.querySelector('form');
const result = document.querySelector('#result');

const MEANING = {
  ALLOW: 'Go on: nothing speaks against it.',
  ALLOW_WATCH: 'Go on, and keep an eye on it.',
  SOFT_CHALLENGE: 'Ask for one more proof, such as a code by e-mail.',
  REVIEW: 'Go on, and let a person look before goods leave.',
  BLOCK: 'Stop here.',
};

form.addEventListener('submit', (event) => {
  event.preventDefault();
  // The collector has already filled the hidden field `session_token`.
  void sendForm({ ...Object.fromEntries(new FormData(form)), referrer: document.referrer });
});

/** The password is not needed for a decision. A real shop sends the card's id at its payment provider instead of a hash. */
async function sendForm({ password: _stays, card, ...fields }) {
  await send(form.action, card === undefined ? fields : { ...fields, card: await hashOf(card) });
}

async function send(url, fields) {
  result.setAttribute('aria-busy', 'true');
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(fields),
    });
    show(await response.json());
  } catch {
    result.replaceChildren(element('p', {}, 'The shop does not answer. Is the demo still running?'));
  }
  result.removeAttribute('aria-busy');
}

/** Fills in the form as a program does: no keys, or keys that follow each other within milliseconds. */
document.querySelector('[data-robot]').addEventListener('click', () => {
  const values = {
    name: 'A. Script',
    email: 'script@example.com',
    password: 'correct horse',
    card: '4000 0000 0000 0002',
  };
  for (const field of form.querySelectorAll('input:not([type=hidden])')) {
    field.focus();
    field.value = '';
    for (const letter of values[field.name]) {
      field.dispatchEvent(new KeyboardEvent('keydown', { key: letter, bubbles: true }));
      field.value += letter;
    }
  }
  form.requestSubmit();
});

function show({ answer, token, sent, failure, outcome, code, isIn }) {
  if (!answer) {
    const news = isIn ? 'The shop lets you go on.' : 'You cannot go on.';
    result.replaceChildren(element('p', {}, [failure ? `${failure} ` : '', news]), ...outcomeOf(outcome));
    return;
  }
  const { decision, score, reasons, contributions } = answer;
  result.replaceChildren(
    element('div', { className: 'verdict' }, [
      element('span', { className: `badge ${decision}` }, decision),
      element('span', { className: 'score' }, [`${score} `, element('small', {}, 'of 100')]),
    ]),
    element('meter', { min: 0, max: 100, low: 30, high: 80, optimum: 0, value: score, ariaLabel: 'Score' }),
    element('p', {}, MEANING[decision]),
    ...outcomeOf(outcome),
    ...(code ? [challengeOf(code)] : []),
    element('h3', {}, 'Reasons'),
    reasons.length === 0
      ? element('p', { className: 'quiet' }, 'None: no rule fired.')
      : element('ul', { className: 'reasons' }, contributions.map(reasonOf)),
    element('details', {}, [
      element('summary', {}, 'What the token said'),
      element('pre', { tabIndex: 0 }, token === null ? 'No token.' : JSON.stringify(token, null, 2)),
    ]),
    element('details', {}, [
      element('summary', {}, 'What the backend asked'),
      element('pre', { tabIndex: 0 }, JSON.stringify(sent, null, 2)),
    ]),
  );
}

/** What the backend told Gatehouse about the decision. */
function outcomeOf(outcome) {
  return outcome ? [element('p', {}, ['Reported outcome: ', element('code', {}, outcome)])] : [];
}

/** Asks for the code. The backend keeps which decision it is about. */
function challengeOf(code) {
  const input = element('input', { name: 'code', inputMode: 'numeric', autocomplete: 'one-time-code', required: true });
  const asked = element('form', { action: '/act/code', method: 'post' }, [
    element('label', {}, [`Code from the e-mail (this demo sends none: ${code}) `, input]),
    element('div', { className: 'buttons' }, [element('button', {}, 'Go on')]),
  ]);
  asked.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(asked.action, { code: input.value });
  });
  return asked;
}

/** The strongest weight of each family counts, so the weights do not add up to the score. */
function reasonOf({ reason, family, weight, evidence }) {
  return element('li', {}, [
    element('div', { className: 'head' }, [
      element('code', {}, reason),
      element('span', { className: 'weight' }, `${family}, weight ${weight.toFixed(2)}`),
    ]),
    element('div', { className: 'quiet' }, evidence),
  ]);
}

/** Makes an element. Text is always text: what the backend repeats was once sent by somebody. */
function element(name, properties, content = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...(Array.isArray(content) ? content : [content]));
  return made;
}

async function hashOf(text) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text.replaceAll(' ', '')));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

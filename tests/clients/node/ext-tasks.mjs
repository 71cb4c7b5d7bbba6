// ext-tasks over the kill of the gateway, at 2026-07-28 or at 2025-11-25. usage: MODE=3|2 node ext-tasks.mjs URL RESTARTED
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { DispatchError, createApplicationInputHandler, createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { tell, text, url } from './kept.mjs';

const modern = process.env.MODE === '3';
const version = '2026-07-28';
const clientInfo = { name: 'jobgate-test', version: '1.0.0' };
const clientCapabilities = { elicitation: { form: {} } };
let questions = 0;
let requests = 0;

// What a host of the library has to bring for 2026-07-28: it sends calls and tasks/* itself.
async function rawDispatch({ method, params }, { signal, context } = {}) {
  const id = ++requests;
  const headers = new Headers(context?.headers);
  headers.set('content-type', 'application/json');
  headers.set('accept', 'application/json, text/event-stream');
  headers.set('mcp-protocol-version', version);
  headers.set('mcp-method', method);
  headers.set('mcp-name', params.taskId ?? params.name);
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const answer = await fetch(url, { method: 'POST', headers, body, signal }).then(it => it.text()).catch(cause => {
    throw new DispatchError('not sent', true, { cause });
  });
  // An answer is one JSON object, or the last event of a stream.
  const message = JSON.parse(answer.startsWith('{') ? answer : answer.match(/^data: *(.*"id".*)$/m)[1]);
  return message.error ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result };
}

tell({
  async open() {
    const mode = modern ? { pin: version } : 'legacy';
    const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const elicitation = () => {
      questions += 1;
      return { action: 'accept', content: { confirm: true } };
    };
    const none = () => { throw new Error('nobody asks for it'); };
    const session = createTaskSessionFromClient(client, {
      endpointId: url,
      onInputRequest: createApplicationInputHandler({ elicitation, sampling: none, roots: none }),
      onError: () => {},
      ...(modern && { rawDispatch, v2RequestFraming: { protocolVersion: version, clientInfo, clientCapabilities } }),
    });
    return { client, session };
  },
  async start({ session }, tool, args) {
    const execution = await session.callTool(tool, args, { task: { preference: 'prefer' } });
    let reference;
    await execution.handoff(it => { reference = it; });
    await execution.result();
    return reference;
  },
  async result({ session }, reference) {
    const { outcome } = await (await session.resumeTask(reference)).settle();
    return text(outcome.result) ?? `${outcome.status} ${outcome.error?.message}`;
  },
  asked: () => questions,
  async close({ client, session }) {
    await session.close();
    await client.close();
  },
});

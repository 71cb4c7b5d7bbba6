// The SDK 1.x with its experimental tasks over the kill of the gateway. usage: node sdk1.mjs URL RESTARTED
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { tell, text, url } from './kept.mjs';

let questions = 0;

tell({
  async open() {
    const client = new Client({ name: 'jobgate-test', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler(ElicitRequestSchema, () => {
      questions += 1;
      return { action: 'accept', content: { confirm: true } };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    await client.listTools();
    return client;
  },
  async start(client, name, args) {
    const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, { task: { ttl: 600_000 } });
    for await (const message of stream) {
      if (message.error) throw message.error;
      // Whoever leaves the stream leaves the task running.
      if (message.type === 'taskCreated') return message.task.taskId;
    }
  },
  result: async (client, id) => text(await client.experimental.tasks.getTaskResult(id, CallToolResultSchema)),
  asked: () => questions,
  close: client => client.close(),
});

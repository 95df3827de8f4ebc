// The same workflows as dw-bench's, for Restate: one durable step, or ten, of 13 bytes each.
import * as restate from "@restatedev/restate-sdk";

const step = async () => "thirteen byte";

const bench = restate.service({
  name: "bench",
  handlers: {
    w1: (ctx) => ctx.run("step", step),
    w10: async (ctx) => {
      let last;
      for (let i = 0; i < 10; ++i) last = await ctx.run("step", step);
      return last;
    },
  },
});

restate.serve({ services: [bench], port: Number(process.argv[2]) });

//! The contract, and each API's own habits, for every entry: a module an entry, over the recorded answers in `wiremock-fixtures`.

mod support;

mod airflow;
mod anthropic;
mod apify;
mod argo_workflows;
mod assemblyai;
mod aws_step_functions;
mod azure_async_operation;
mod bfl;
mod buildbot;
mod celery_flower;
mod cog;
mod dagster;
mod databricks_jobs;
mod deepgram;
mod elevenlabs;
mod fal;
mod google_lro;
mod google_veo;
mod heygen;
mod kestra;
mod luma;
mod mux;
mod n8n;
mod ogc_api_processes;
mod openai;
mod prefect;
mod ray_jobs;
mod replicate;
mod restate;
mod runpod;
mod runway;
mod slurm;
mod stability;
mod temporal;

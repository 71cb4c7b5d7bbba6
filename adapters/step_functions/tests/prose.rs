//! The example of the README is right.

use jobgate_adapter_api::{Issues, Place, ToolWords, factory};
use jobgate_adapter_step_functions::StepFunctions;
use serde_json::Value;

#[test]
fn the_example_of_the_readme_is_accepted() {
    let readme = include_str!("../README.md");
    let block = readme.split("```yaml\n").nth(1).and_then(|block| block.split("```").next()).unwrap();
    let words: Value = serde_saphyr::from_str(block).unwrap();
    let mut provider = words["providers"]["aws"].clone();
    assert_eq!(provider.as_object_mut().unwrap().remove("adapter").unwrap(), "step_functions");
    let tools = vec![ToolWords {
        name: "deploy".to_owned(),
        input_schema: words["tools"]["deploy"]["input"].clone(),
        place: Place::root().key("tools").key("deploy").key("job"),
        words: words["tools"]["deploy"]["job"].clone(),
    }];
    let mut issues = Issues::new();
    let checked = factory::<StepFunctions>().check(&Place::root().key("providers").key("aws"), provider, tools, &mut issues);
    assert!(issues.is_empty(), "{issues:#?}");
    let said = checked.unwrap().explain("deploy").join("\n");
    for wanted in ["StartExecution of deploy in eu-west-1", "while AskHuman waits for a task token", "stage as configured"] {
        assert!(said.contains(wanted), "{wanted} is not in:\n{said}");
    }
}
